package dev.sluice.tests;

import dev.sluice.delta.LinkLogStore;
import java.io.IOException;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** The LogStore of production, whose commits a test can hold. */
public final class HeldLinkLogStore extends LinkLogStore {

    public HeldLinkLogStore(Configuration initHadoopConf) {
        super(initHadoopConf);
    }

    @Override
    public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration hadoopConf)
            throws IOException {
        super.write(path, overwrite ? actions : new HeldCommit(actions, hadoopConf), overwrite, hadoopConf);
    }
}
